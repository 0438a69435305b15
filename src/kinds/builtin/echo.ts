import type { Handler } from '../../core/handler.ts'

/** Gives its parameters back, to see what a caller really sends. */
export const echo: Handler = (params) => ({ echo: params })
