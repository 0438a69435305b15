import type { McpServer } from '../mcp-server.ts'
import { rawEcho } from './raw-echo.ts'
import { sdkJson, sdkSse, sdkStateless } from './sdk.ts'
import { toolyardSession, toolyardStateless } from './toolyard.ts'

/** Every server that is measured, in the order of the table. */
export const servers: readonly McpServer[] = [
  rawEcho,
  sdkJson,
  sdkSse,
  toolyardSession,
  sdkStateless,
  toolyardStateless,
]
