import { Client, type RequestOptions, type StandardSchemaV1, specTypeSchemas } from '@modelcontextprotocol/client'

/** Results of other kinds of request: with one of these and no content, an answer is none of a call. */
const FOREIGN = ['task', 'inputRequests', 'requestState']

const CALL_RESULT: StandardSchemaV1 = {
  '~standard': {
    version: 1,
    vendor: 'toolyard',
    validate(value) {
      const isForeign = isObject(value) && value.content === undefined && FOREIGN.some((key) => key in value)
      if (isForeign) return { issues: [{ message: 'the answer is not that of a call: it has no content' }] }
      return specTypeSchemas.CallToolResult['~standard'].validate(value)
    },
  },
}

/**
 * The SDK's client, which is told what the result of a call looks like. Otherwise it finds out whether it knows by a
 * validation that fails, before every single request, and that is about half of what a call costs.
 */
export class CallingClient extends Client {
  override request(
    request: { method: string; params?: Record<string, unknown> },
    schemaOrOptions?: StandardSchemaV1 | RequestOptions,
    options?: RequestOptions,
  ): Promise<never> {
    const named = request.method !== 'tools/call' || (schemaOrOptions !== undefined && '~standard' in schemaOrOptions)
    const answer = named
      ? super.request(request, schemaOrOptions as StandardSchemaV1, options)
      : super.request(request, CALL_RESULT, schemaOrOptions as RequestOptions)
    return answer as Promise<never>
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
