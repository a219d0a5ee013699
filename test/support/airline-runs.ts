/** @module Real agent runs, where the checkout has them beside it; they are no part of the project. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Undefined where they are not here: the test says so and is skipped. */
export const AIRLINE_RUNS = ['../../shared/data/airline-runs.jsonl', '../../../shared/data/airline-runs.jsonl']
  .map((place) => fileURLToPath(new URL(`../../${place}`, import.meta.url)))
  .concat(`${process.cwd()}/../shared/data/airline-runs.jsonl`)
  .find((path) => existsSync(path))

export const SKIPPED = 'skipped: the airline data is not here\n'

export interface ChatMessage {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly content: string | null
  readonly tool_calls?: readonly { readonly id: string; readonly function: { name: string; arguments: string } }[]
  readonly tool_call_id?: string
}

export interface ChatRun {
  readonly id: string
  readonly model: string
  readonly messages: readonly ChatMessage[]
}

export function readAirlineRuns(path: string): readonly ChatRun[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as ChatRun)
}
