/** @module The large value that an event names instead of holding it. */
import { declarationOf } from '../../schemas/events.ts'
import { ValueRef } from '../../schemas/values.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'

/** The digest of a large value that is stored next to the event; undefined if the event names none. */
export function valueNamedBy({ header, data }: LedgerEvent): string | undefined {
  const { large } = declarationOf(header.type) ?? {}
  const named = ValueRef.safeParse(large === undefined ? undefined : data[`${large}Ref`])
  return named.success && named.data.kept !== false ? named.data.digest : undefined
}
