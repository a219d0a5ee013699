/** @module Events of a window as table rows with one line of text each; payloads are dropped while reading. */
import type { Caller, Ledger } from '../../ledger/ledger.ts'
import type { LedgerEvent } from '../../ledger/ledger-event.ts'
import { orRefused } from '../page.ts'
import { describeEvent, type ToolNames } from './describe.ts'

export interface EventRow {
  readonly revision: number
  readonly type: string
  readonly time: string
  readonly actor: string
  readonly principal?: string
  readonly via?: readonly string[]
  readonly text: string
  readonly seal?: 'valid' | 'invalid'
}

interface RowRange {
  readonly run: string
  /** Provides the tool names of calls from their claims. */
  readonly story: ToolNames
  readonly from: number
  readonly to: number
}

export async function eventRows(
  ledger: Pick<Ledger, 'runEvents'>,
  caller: Caller,
  { run, story, from, to }: RowRange,
): Promise<readonly EventRow[]> {
  const rows: EventRow[] = []
  for await (const page of orRefused(await ledger.runEvents(caller, run, { from, to })))
    for (const event of page) rows.push(rowOf(event, story))
  return rows
}

export function rowOf(event: LedgerEvent, story: ToolNames): EventRow {
  const { revision, type, time, actor, principal, via } = event.header
  const whom = { ...(principal !== undefined && { principal }), ...(via !== undefined && { via }) }
  const seal = event.seal === undefined ? {} : { seal: event.seal }
  return { revision, type, time, actor, ...whom, ...seal, text: describeEvent(event, story) }
}
