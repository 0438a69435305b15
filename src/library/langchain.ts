export { type HandedTool, toLangChain } from '../kinds/to-langchain.ts'
export { langchainModel } from '../models/langchain/langchain-model.ts'
