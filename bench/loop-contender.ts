import type { LoopShape } from './loop-shape.ts'
import type { WeatherHandler } from './weather.ts'

/** A run made ready: carries one question to the text that it ends with. Only running it is measured. */
export type PreparedRun = () => Promise<string>

/** Something that carries a conversation between a model and its tools, with a model that answers from memory. */
export interface LoopContender {
  /** Unique; what `--only` takes. */
  readonly id: string
  readonly name: string
  /** The expression that is measured. */
  readonly call: string
  /** The package whose version is shown; absent for what lives in this repository. */
  readonly package?: string
  prepare(shape: LoopShape, handler: WeatherHandler): Promise<PreparedRun>
}
