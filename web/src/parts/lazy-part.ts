import { type ComponentType, lazy } from 'react'
import { serverIsAway, whenServerReturns } from '../api/connection.ts'

/**
 * A part of the page that is loaded when it is first shown. Where the server is away just then, it is loaded when it
 * is back: what has failed once would otherwise have failed for good.
 */
export const lazyPart = <Props>(load: () => Promise<ComponentType<Props>>) =>
  lazy(async () => ({ default: await load().catch(() => loadLater(load)) }))

async function loadLater<Part>(load: () => Promise<Part>): Promise<Part> {
  const back = new Promise<void>((resolve) => {
    const forget = whenServerReturns(() => {
      forget()
      resolve()
    })
  })
  serverIsAway()
  await back
  return load()
}
