import type { Page } from 'playwright-core'

/** Chooses a model by its name, in the list that has this label. */
export async function chooseModel(page: Page, name: string, label: RegExp = /Select Model/): Promise<void> {
  await page.getByRole('combobox', { name: label }).click()
  const plain = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  await page.getByRole('option', { name: new RegExp(`^${plain} `) }).click()
}

/** Unfolds the calls of the last answer. */
export async function unfoldCalls(page: Page): Promise<void> {
  await page.getByRole('region', { name: 'Test Results' }).locator('summary').last().click()
}
