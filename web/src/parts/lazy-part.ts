import { type ComponentType, lazy } from 'react'
import { serverIsAway, whenServerReturns } from '../api/connection.ts'

/**
 * Like React.lazy, but retries a failed import when the server is back.
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
