/** Where a value stands in the parameters: property names and item numbers from the root. */
export interface ValuePath {
  readonly parent: ValuePath | undefined
  readonly step: string | number
}

const PLAIN = /^[^\s.[\]"'\\]{1,80}$/u

/** A longer path loses its middle. */
const LONGEST = 200

/** The path as people write it: `user.emails[0]`; the root is `parameters`. */
export function pathText(path: ValuePath | undefined): string {
  if (path === undefined) return 'parameters'
  let text = ''
  for (let at: ValuePath | undefined = path; at !== undefined; at = at.parent) {
    const name = stepText(at.step)
    text = text === '' || text.startsWith('[') ? name + text : `${name}.${text}`
  }
  return text.length > LONGEST ? `${text.slice(0, LONGEST / 2)}…${text.slice(-LONGEST / 2)}` : text
}

function stepText(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`
  return PLAIN.test(step) ? step : `[${JSON.stringify(step.length > 80 ? `${step.slice(0, 79)}…` : step)}]`
}
