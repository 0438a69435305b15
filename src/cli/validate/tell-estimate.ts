import { type BudgetLimits, DEFAULT_UNPRICED_TOKENS } from '../../validation/running/suite-budget.ts'
import { estimate, type PlannedTrial, type TriedModel } from '../../validation/running/trial.ts'
import { printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'

/** Says what the trials that are left will use up, about, and what they may use up at most, before any of it is spent. */
export function tellEstimate(
  terminal: Terminal,
  left: readonly PlannedTrial[],
  { cost: most, tokens: mostTokens }: BudgetLimits,
) {
  const { tokens, cost } = estimate(left)
  const models = [...new Set(left.map(({ model }) => model))]
  const unpriced = models.filter(({ prices }) => prices === undefined)
  const free = models.every(isFree)
  const money = free
    ? ', which cost nothing'
    : cost === undefined
      ? ''
      : ` and ${usd(cost)}; at most ${usd(most)} is spent (--budget)`
  const trials = `${left.length} ${left.length === 1 ? 'trial' : 'trials'}`
  terminal.note(`${trials}: about ${figure(tokens)} tokens${money}.`)
  if (mostTokens !== undefined) terminal.note(`At most ${figure(mostTokens)} tokens are used (--budget-tokens).`)
  for (const { model } of unpriced) {
    const bound =
      mostTokens === undefined
        ? `: at most ${figure(DEFAULT_UNPRICED_TOKENS)} tokens are used instead (--budget-tokens)`
        : ''
    terminal.note(printableLine(`The price of ${model.id} is not known (models[].prices gives it)${bound}.`))
  }
  if (cost !== undefined && cost > most) {
    terminal.note('That is probably not enough for all trials: what is left goes on with the same command.')
  }
}

const isFree = ({ prices }: TriedModel): boolean => prices?.input === 0 && prices.output === 0

export const figure = (number: number): string => number.toLocaleString('en-US')

export const usd = (cost: number): string => `${cost < 0.01 && cost > 0 ? cost.toFixed(4) : cost.toFixed(2)} USD`
