import { ToolExecutionError } from './tool-result.ts'

/** Whether an import failed because one of these packages isn't installed. Another missing module means a damaged package. */
export const isMissingPackage = (error: unknown, packages: readonly string[]): boolean =>
  error instanceof Error &&
  'code' in error &&
  /^(?:ERR_)?MODULE_NOT_FOUND$/.test(String(error.code)) &&
  packages.some((name) => error.message.includes(`'${name}'`))

/** Loads code that needs optional packages. If one is missing, the error says what needs it and what to install. */
export async function loadOptional<T>(
  purpose: string,
  packages: readonly string[],
  load: () => Promise<T>,
): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if (!isMissingPackage(error, packages)) throw error
    const names = packages.length === 1 ? `the package ${packages[0]}` : `the packages ${packages.join(', ')}`
    const message = `${purpose} needs ${names}: npm install ${packages.join(' ')}`
    throw new ToolExecutionError('EXECUTION_ERROR', message, {}, { cause: error })
  }
}
