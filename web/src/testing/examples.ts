/** An example query with the expected behaviour. */
export interface Example {
  readonly title: string
  readonly query: string
  readonly expected: string
}

export const EXAMPLES: readonly Example[] = [
  {
    title: 'Simple Tool Call',
    query: "What's the weather in Paris?",
    expected: 'Calls a weather tool once, with Paris, and answers with its result.',
  },
  {
    title: 'Calculator',
    query: 'Calculate 15% tip on $45',
    expected: 'Calls a calculator and answers $6.75.',
  },
  {
    title: 'Direct Answer Test',
    query: "What's 2+2?",
    expected: 'Answers 4. It may call a tool but needs none.',
  },
  {
    title: 'RAG Tool',
    query: 'Search for Python decorators in the docs',
    expected: 'Calls the document search and answers from its results, or says that it found nothing.',
  },
]
