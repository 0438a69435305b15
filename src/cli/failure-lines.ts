import type { ConnectFailure } from '../mcp/client/connect-failure.ts'
import { printable } from './printable.ts'

/** Why a server could not be reached, what it said last, and what to look at. */
export const failureLines = ({ reason, stderr, check }: ConnectFailure): string[] =>
  [`Reason: ${reason}`, ...(stderr === '' ? [] : [`MCP Server stderr: ${stderr}`]), `Check: ${check}`].map(printable)
