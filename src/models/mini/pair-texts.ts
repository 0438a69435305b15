/** A name as words: split at camelCase, `_`, `-` and `.`, in lower case. */
export const wordsOfName = (name: string): string =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[_\-.\s]+/g, ' ')
    .trim()
    .toLowerCase()

/** The three forms of the first text of a pair, as the model was trained with them. */
export const toolText = (name: string, description: string, parameters: readonly string[]): string =>
  `tool: ${wordsOfName(name)}. ${description.slice(0, 160)} needs: ${parameters.slice(0, 8).map(wordsOfName).join(', ')}`

/** The first of them without its description: people often say what a tool takes, not what it does. */
export const shortToolText = (name: string, parameters: readonly string[]): string =>
  `tool: ${wordsOfName(name)}. needs: ${parameters.slice(0, 8).map(wordsOfName).join(', ')}`

export const valueText = (parameter: string, description: string, tool: string): string =>
  `value: ${wordsOfName(parameter)}: ${description.slice(0, 110)} of ${wordsOfName(tool)}`

export const optionText = (parameter: string, description: string, option: unknown): string =>
  `option: ${wordsOfName(parameter)}: ${description.slice(0, 90)} = ${String(option).toLowerCase()}`
