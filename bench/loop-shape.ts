/** How a run of the loop goes: so many turns, each with so many calls of the weather tool, and then the answer. */
export interface LoopShape {
  readonly turns: number
  readonly calls: number
  /** How many tools the model is offered; it only ever calls the first. */
  readonly tools: number
  /** The model gets the parameters wrong. */
  readonly wrong?: true
}
