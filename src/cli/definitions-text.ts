import type { ToolDefinition } from '../core/tool.ts'

/** A longer file is not included. */
const MOST_CHARACTERS = 200_000_000

/** Definitions as the text of a file. Throws where it would be too long to be read. */
export function definitionsText(definitions: readonly ToolDefinition[]): string {
  let characters = 0
  const texts = definitions.map((definition) => {
    const text = JSON.stringify(definition, undefined, 2).replaceAll('\n', '\n  ')
    characters += text.length
    if (characters > MOST_CHARACTERS) {
      throw new Error(
        `The tools would be larger than ${MOST_CHARACTERS / 1e6} MB together: choose some with --include.`,
      )
    }
    return `  ${text}`
  })
  return `[\n${texts.join(',\n')}\n]\n`
}
