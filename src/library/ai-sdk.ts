export { aiSdkModel } from '../models/ai-sdk/ai-sdk-model.ts'
