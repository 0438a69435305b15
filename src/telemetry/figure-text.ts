export type Labels = Readonly<Record<string, string>>

/** Figures of one name, as Prometheus reads them. */
export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'histogram'
  readonly samples: readonly Sample[]
}

export interface Sample {
  /** `_bucket`, `_sum` or `_count` where the family is a histogram. */
  readonly suffix?: string
  readonly labels: Labels
  readonly value: number
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' }

/** Families in the text format of Prometheus. */
export function figureText(families: readonly Family[]): string {
  let text = ''
  for (const { name, help, type, samples } of families) {
    text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
    for (const { suffix = '', labels, value } of samples) text += `${name}${suffix}${labelText(labels)} ${value}\n`
    text += '\n'
  }
  return text
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([key, value]) => `${key}="${value.replace(/[\\"\n]/g, (special) => ESCAPES[special] as string)}"`,
  )
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}
