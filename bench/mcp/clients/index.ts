import type { McpClient } from '../mcp-client.ts'
import { rawEcho } from './raw-echo.ts'
import { sdk } from './sdk.ts'
import { toolyard, toolyardExecute } from './toolyard.ts'

/** Every client that is measured, in the order of the table. */
export const clients: readonly McpClient[] = [rawEcho, sdk, toolyard, toolyardExecute]
