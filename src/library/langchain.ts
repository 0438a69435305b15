export { langchainModel } from '../models/langchain/langchain-model.ts'
export type { AdapterOptions } from './adapter.ts'
export { type HandedTool, toLangChain } from './to-langchain.ts'
