/** What needs the SDK, in one place: it is loaded with the first connection, and not where there are no servers. */
export { callFault } from './call-fault.ts'
export { connectFailure } from './connect-reason.ts'
export { nextEra, openClient } from './open-client.ts'
