const VARIABLE = /\{\{\s*([^{}\s]+)\s*\}\}/g

/** The names that a prompt has as `{{name}}`. */
export function promptVariables(prompt: string): Set<string> {
  return new Set([...prompt.matchAll(VARIABLE)].map(([, name]) => name as string))
}

/** The prompt with its variables replaced, once: a value is data, whatever it looks like. */
export function fillPrompt(prompt: string, values: (name: string) => unknown): string {
  return prompt.replaceAll(VARIABLE, (_, name: string) => asText(values(name)))
}

function asText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
