import type { HttpServer } from '../http-server.ts'
import { bare } from './bare.ts'
import { toolyardChat, toolyardExecute, toolyardFresh, toolyardFreshWithoutKeys, toolyardMcp } from './toolyard.ts'

/** Every server that is measured, in the order of the table. */
export const httpServers: readonly HttpServer[] = [
  bare,
  toolyardExecute,
  toolyardFresh,
  toolyardFreshWithoutKeys,
  toolyardMcp,
  toolyardChat,
]
