import { type Handler, ToolExecutionError, ToolHandlers } from 'toolyard'

/** The shop's own code, which knows nothing of tools. */
export interface Shop {
  pieces(article: string, signal: AbortSignal): Promise<number | undefined>
  order(article: string, pieces: number, signal: AbortSignal): Promise<string>
}

/** The definitions: what models and people read. They could as well stand in `toolyard.config.json`. */
export const stockTools = [
  {
    name: 'get_stock',
    description:
      'How many pieces of an article are in stock. Use it when the user asks whether something is available.',
    parameters: {
      type: 'object',
      properties: { article: { type: 'string', minLength: 1, maxLength: 100, description: 'Its name: "lamp".' } },
      required: ['article'],
    },
    implementation: { type: 'internal', handler: 'get_stock' },
    timeout_ms: 5_000,
    cache: { ttl_ms: 10_000 },
  },
  {
    name: 'order_article',
    description: 'Order more pieces of an article. Ask the user before you order.',
    parameters: {
      type: 'object',
      properties: {
        article: { type: 'string', minLength: 1, maxLength: 100 },
        pieces: { type: 'integer', minimum: 1, maximum: 100 },
      },
      required: ['article', 'pieces'],
    },
    implementation: { type: 'internal', handler: 'order_article' },
    permissions: ['ordering'],
  },
]

/** The code behind them. Parameters have been validated; the deadline and the record are Toolyard's business. */
export function stockHandlers(shop: Shop): ToolHandlers {
  const getStock: Handler = async ({ article }, { signal }) => {
    const pieces = await shop.pieces(String(article), signal)
    if (pieces === undefined) {
      throw new ToolExecutionError('INVALID_PARAMETERS', `There is no article '${article}': ask for its exact name`)
    }
    return { article, in_stock: pieces }
  }
  const orderArticle: Handler = async ({ article, pieces }, { signal }) => {
    return { order: await shop.order(String(article), Number(pieces), signal) }
  }
  const handlers = new ToolHandlers()
  handlers.register('get_stock', getStock, { effect: 'read' })
  handlers.register('order_article', orderArticle, { effect: 'write' })
  return handlers
}
