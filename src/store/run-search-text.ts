/** @module The text that a run is searched by, shared by the store's SQL columns and by readers that filter row by row. */
import { inOneCase } from '../../schemas/one-case.ts'
import type { RunRow } from './view-store.ts'

/** Id, name, actor, principal, tags and agents: one per line, case-folded. */
export function runSearchText({ runId, name, actor, principal = '', tags, agents }: SearchedRun): string {
  return inOneCase([runId, name, actor, principal, ...tags, ...agents].join('\n'))
}

type SearchedRun = Pick<RunRow, 'runId' | 'name' | 'actor' | 'principal' | 'tags' | 'agents'>

/** Each text is on its own line, so a match lies within a single text. */
export const searchedText = (contains: string): string => inOneCase(contains.replaceAll('\n', ' '))
