const WIDTH = 100
const STEP = '  '

/** JSON for people: what fits on a line stays on one. */
export function readableJson(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const inner = indent + STEP
  const parts = Array.isArray(value)
    ? value.map((item) => readableJson(item, inner))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${readableJson(item, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const length = parts.reduce((sum, part) => sum + part.length + 2, indent.length + 2)
  if (parts.length === 0) return `${open}${close}`
  const fits = length <= WIDTH && !parts.some((part) => part.includes('\n'))
  if (fits) return Array.isArray(value) ? `[${parts.join(', ')}]` : `{ ${parts.join(', ')} }`
  return `${open}\n${parts.map((part) => inner + part).join(',\n')}\n${indent}${close}`
}
