/** The address of Testing with a query and a model filled in; `run` is what the new run is compared with. */
export function testingAddress(query: string, model: string, run: string): string {
  return `/tools-testing?${new URLSearchParams({ query, model, run })}`
}
