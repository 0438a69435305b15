/** Nobody is there to answer: no rule of `responses` matches, and none is without `match`. */
export class NoResponseRuleError extends Error {
  constructor() {
    super('No response rule matches')
    this.name = 'NoResponseRuleError'
  }
}
