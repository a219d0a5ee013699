/** @module `countersign/agent`: tools, runs and sagas on a signed ledger, behind HTTP or in this process. */
export type { OpenOptions } from './open.ts'
export { fromEnv, open } from './open.ts'
// biome-ignore lint/performance/noReExportAll: a second list of the same ninety names would drift from the one of the client package.
export * from './over-http.ts'
