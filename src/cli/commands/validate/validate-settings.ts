import { REPORT_FORMATS, reportFormat } from '../../../validation/reports/report-format.ts'
import { type BudgetLimits, DEFAULT_BUDGET } from '../../../validation/running/suite-budget.ts'
import { DEFAULT_CONCURRENCY } from '../../../validation/running/suite-runner.ts'
import { type GlobalOptions, printableLine, UsageError } from '../../common/terminal.ts'

/** The options of `toolyard validate` as text. */
export interface ValidateOptions extends GlobalOptions {
  readonly models?: string
  readonly suite?: readonly string[]
  readonly limit?: string
  readonly repeat?: string
  readonly concurrency?: string
  readonly budget?: string
  readonly budgetTokens?: string
  readonly gate?: string
  readonly report?: readonly string[]
  readonly out?: string
  readonly fresh?: boolean
  readonly generate?: boolean
}

export interface ValidateSettings {
  /** Undefined: the configured models. */
  readonly models: readonly string[] | undefined
  readonly suites: readonly string[]
  readonly limit: number | undefined
  readonly repeat: number
  readonly concurrency: number
  readonly budget: BudgetLimits
  readonly gate: number | undefined
  readonly reports: readonly string[]
  readonly out: string | undefined
  readonly fresh: boolean
}

/** The suite that is generated from the registered tools. */
const GENERATED = 'generated'
const MAX_REPETITIONS = 1_000
const MAX_CONCURRENCY = 100
const UNLIMITED = Number.MAX_SAFE_INTEGER

/** Reads the options; throws a `UsageError` that names the option and quotes its value. */
export function validateSettings(options: ValidateOptions): ValidateSettings {
  const tokens = whole('--budget-tokens', options.budgetTokens, UNLIMITED)
  const cost = number('--budget', options.budget, 'an amount of money, 0 or more', (value) => value >= 0)
  return {
    models: modelIds(options.models),
    suites: [...new Set(options.suite ?? [GENERATED])],
    limit: whole('--limit', options.limit, UNLIMITED),
    repeat: whole('--repeat', options.repeat, MAX_REPETITIONS) ?? 1,
    concurrency: whole('--concurrency', options.concurrency, MAX_CONCURRENCY) ?? DEFAULT_CONCURRENCY,
    budget: { cost: cost ?? DEFAULT_BUDGET.cost, tokens },
    gate: number('--gate', options.gate, 'a rate from 0 to 1', (value) => value >= 0 && value <= 1),
    reports: (options.report ?? []).map(reportFile),
    out: options.out === undefined ? undefined : fileName('--out', options.out),
    fresh: options.fresh === true,
  }
}

function modelIds(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined
  const ids = text.split(',').map((id) => id.trim())
  if (ids.includes('')) {
    throw new UsageError(
      `--models takes models separated by commas, such as openai:gpt-4o, not '${printableLine(text)}'.`,
    )
  }
  return [...new Set(ids)]
}

function reportFile(file: string): string {
  if (reportFormat(fileName('--report', file)) !== undefined) return file
  throw new UsageError(
    `--report takes a file that ends in ${[...REPORT_FORMATS.keys()].join(', ')}, not '${printableLine(file)}'.`,
  )
}

function fileName(option: string, file: string): string {
  if (file === '') throw new UsageError(`${option} needs a file name, but got an empty string.`)
  return file
}

const whole = (option: string, text: string | undefined, max: number): number | undefined =>
  number(
    option,
    text,
    max === UNLIMITED ? 'a whole number from 1' : `a whole number from 1 to ${max}`,
    (value) => Number.isInteger(value) && value >= 1 && value <= max,
  )

function number(option: string, text: string | undefined, what: string, fits: (value: number) => boolean) {
  if (text === undefined) return undefined
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value) && fits(value)) return value
  throw new UsageError(`${option} takes ${what}, not '${printableLine(text)}'.`)
}
