export { awaitServers, SHORT_WAIT_MS, warnMissing as tellMissing } from './open.ts'
