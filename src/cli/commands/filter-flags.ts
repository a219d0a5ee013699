/** @module The filters of audit queries as flags, generated from the table of audit fields. */
import type { Option } from 'commander'
import { AUDIT_FILTERS, type FilterName } from '../../../schemas/audit-fields.ts'
import { EVENTS } from '../../../schemas/events.ts'
import { flag, flagNameOf } from '../flag.ts'

const HEADING = 'Filters (events that fit all of them):'

/** The named filters, or all of them. */
export function filterFlags(names?: readonly FilterName[]): readonly Option[] {
  return AUDIT_FILTERS.filter(({ name }) => names === undefined || names.includes(name)).map(
    ({ name, about, input, compare }) => {
      const isPart = compare === 'part' || compare === 'any-part'
      const value = input === 'time' ? 'time' : name === 'types' ? 'type,type' : isPart ? 'text' : name
      const values = name === 'types' ? Object.keys(EVENTS) : typeof input === 'object' ? input : []
      return flag(`--${flagNameOf(name)} <${value}>`, `only events ${about}`, values).helpGroup(HEADING)
    },
  )
}
