/** @module `countersign/client`: the ledger over HTTP, from Node or a browser. */

export type { AnswerTo } from '../../schemas/answers/commands.ts'
export type { ContextAnswer, RunAnswer } from '../../schemas/answers/runs.ts'
export type { LedgerErrorCode } from '../../schemas/error-code.ts'
export type {
  AskOptions,
  BatchAnswer,
  Client,
  ClientOptions,
  CommandOptions,
  DueQuery,
  EventRecord,
  Query,
  Recorded,
} from './client.ts'
export { createClient } from './client.ts'
export type { BatchItem, Command } from './commands.ts'
export { LedgerError, UnreachableError } from './errors.ts'
