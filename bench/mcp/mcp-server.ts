import type { WeatherHandler } from '../weather.ts'

/** How a client asks: in a session that it opened, or with requests that stand for themselves. */
export type Era = 'session' | 'stateless'

export interface Listening {
  readonly url: string
  close(): Promise<void>
}

/** Something that serves a tool over HTTP. */
export interface McpServer {
  readonly id: string
  readonly name: string
  /** What answers the requests. */
  readonly by: string
  /** The package whose version is shown; absent for what lives in this repository. */
  readonly package?: string
  readonly era: Era
  listen(handler: WeatherHandler): Promise<Listening>
}
