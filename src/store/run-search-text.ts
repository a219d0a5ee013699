/** @module What a run is found by, whoever looks: a store in its columns, or a reader row by row. */
import { inOneCase } from '../../schemas/one-case.ts'
import type { RunRow } from './view-store.ts'

/** Id, name, people, tags and agents: one text a line, in one case. */
export function runSearchText({ runId, name, actor, principal = '', tags, agents }: SearchedRun): string {
  return inOneCase([runId, name, actor, principal, ...tags, ...agents].join('\n'))
}

type SearchedRun = Pick<RunRow, 'runId' | 'name' | 'actor' | 'principal' | 'tags' | 'agents'>

/** Texts stand on lines of their own: what is looked for lies within one. */
export const searchedText = (contains: string): string => inOneCase(contains.replaceAll('\n', ' '))
