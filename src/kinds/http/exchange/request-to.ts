import type { HttpMethod } from '../http-implementation.ts'
import type { OutgoingRequest } from '../outgoing-request.ts'

/** What is for one origin, whoever wrote it. */
const OF_AN_ORIGIN = ['authorization', 'cookie', 'proxy-authorization', 'host'] as const
const OF_A_BODY = ['content-type', 'content-length', 'content-encoding', 'content-language'] as const

/**
 * The request that goes to another URL, one that the service named. What shows who we are stays with the origin that
 * it was meant for, and a body stays with its method. The URL is taken as it is: nothing of the old query is added.
 */
export function requestTo(url: URL, from: OutgoingRequest, method: HttpMethod = from.method): OutgoingRequest {
  const path = url.pathname + url.search
  const sameOrigin = url.origin === from.origin
  const sameMethod = method === from.method
  if (sameOrigin && sameMethod) return { ...from, path }
  const headers = { ...from.headers }
  if (!sameOrigin) for (const name of [...OF_AN_ORIGIN, ...(from.credentials ?? [])]) delete headers[name]
  if (!sameMethod) for (const name of OF_A_BODY) delete headers[name]
  return {
    method,
    origin: url.origin,
    path,
    headers,
    ...(sameOrigin && from.credentials !== undefined && { credentials: from.credentials }),
    ...(sameMethod && from.body !== undefined && { body: from.body }),
  }
}

/** Why a service that was asked over https may not lead on to this URL. */
export const leavesTls = (url: URL, from: OutgoingRequest): boolean =>
  from.origin.startsWith('https:') && url.protocol !== 'https:'
