import type { TrackedCall } from 'toolyard'

/** What is said to something that was wanted. */
export interface Reply {
  readonly text: string
  /** `refused`: it was not taken on, because too many wait or it could not be understood. */
  readonly status: 'answered' | 'cancelled' | 'failed' | 'refused'
  readonly tool_calls: readonly TrackedCall[]
}

/** The same, with what it answers; it goes to `voice/response`. */
export interface VoiceResponse extends Reply {
  readonly id: string
  readonly transcript: string
  readonly time: number
}
