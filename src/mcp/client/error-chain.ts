import { SdkHttpError } from '@modelcontextprotocol/client'

const DEEPEST = 5

/** An error, what caused it, and, where several addresses were tried, its parts. */
export function* errorChain(thrown: unknown, depth = 0): Generator<Error, void, undefined> {
  if (!(thrown instanceof Error) || depth > DEEPEST) return
  yield thrown
  yield* errorChain(thrown.cause, depth + 1)
  const { errors } = thrown as { errors?: unknown }
  if (Array.isArray(errors)) for (const one of errors.slice(0, 8)) yield* errorChain(one, depth + 1)
}

/** The HTTP status that a server answered with. */
export function httpStatus(thrown: unknown): number | undefined {
  for (const error of errorChain(thrown)) if (SdkHttpError.isInstance(error)) return error.status
  return undefined
}
