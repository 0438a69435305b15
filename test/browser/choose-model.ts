import type { Page } from 'playwright-core'

/** Chooses a model by its name, in the list that has this label. */
export async function chooseModel(page: Page, name: string, label: RegExp = /Select Model/): Promise<void> {
  await page.getByRole('combobox', { name: label }).click()
  const plain = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  await page.getByRole('option', { name: new RegExp(`^${plain} `) }).click()
}
