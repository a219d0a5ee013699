/** @module The filters of a question as a form: a plain GET, so that an answer has an address. */
import { AUDIT_FILTERS, type FilterName, PART_FIELDS } from '../../../schemas/audit-fields.ts'
import { typesThat } from '../../../schemas/events.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { textIn } from '../item-members.ts'
import { auditPath } from '../paths.ts'
import { visibleText } from '../visible.ts'
import { PeriodFields } from './period-fields.tsx'

export interface AuditFormProps {
  readonly name: string
  readonly filters: readonly string[]
  readonly typed: Readonly<Record<string, string>>
  /** Rows of the answer; their values are suggested. */
  readonly items: readonly JsonObject[]
}

const SPEND_BY = ['run', 'agent', 'model', 'day', 'month', 'tenant']

export function AuditForm({ name, filters, typed, items }: AuditFormProps) {
  return (
    <form autocomplete="off" method="get" action={auditPath(name)} class="filters audit-filters" aria-label="Filters">
      {name === 'spend' && <Choice name="by" values={SPEND_BY} value={typed.by ?? 'run'} />}
      {typed.routine !== undefined && <input type="hidden" name="routine" value={typed.routine} />}
      {name === 'sample' && <Field name="seed" value={typed.seed} />}
      {shownOf(filters, typed).map((name) => {
        const choices = inputOf(name)
        return typeof choices === 'object' ? (
          <Choice name={name} values={['', ...choices]} value={typed[name] ?? ''} />
        ) : (
          <Field name={name} value={typed[name]} items={items} />
        )
      })}
      {filters.some((name) => inputOf(name) === 'time') && (
        <PeriodFields since={typed.since} until={typed.until} zone={typed.zone} />
      )}
      <Field name="asOf" value={typed.asOf} />
      <button type="submit" class="button">
        Show
      </button>
    </form>
  )
}

/** A name is matched by part; the field for an exact match is shown only if it has a value, as from a link. */
function shownOf(filters: readonly string[], typed: AuditFormProps['typed']): readonly string[] {
  const names = filters.filter((name) => inputOf(name) !== 'time')
  const shown = names.filter((name) => typed[name] !== undefined || !names.includes(`${name}${BY_PART}`))
  return [...shown.filter((name) => name === ANY_NAME), ...shown.filter((name) => name !== ANY_NAME)]
}

const BY_PART = 'Contains'
const ANY_NAME = 'contains' satisfies FilterName

/** Members of the answer's rows whose values are suggested for a field. */
const saidIn = (name: string): readonly string[] => (name === ANY_NAME ? PART_FIELDS : [filterOf(name)?.field ?? name])

const filterOf = (name: string) => AUDIT_FILTERS.find((filter) => filter.name === name)
const inputOf = (name: string) => filterOf(name)?.input
const LABELS: Readonly<Record<string, string>> = { asOf: 'As of so many events' }
const labelOf = (name: string): string =>
  filterOf(name)?.label ?? LABELS[name] ?? name.charAt(0).toUpperCase() + name.slice(1)

interface FieldProps {
  readonly name: string
  readonly value: string | undefined
  readonly items?: readonly JsonObject[]
}

const SUGGESTIONS_MAX = 30

function Field({ name, value, items = [] }: FieldProps) {
  const known =
    name === 'types'
      ? typesThat(() => true)
      : items.flatMap((item) => saidIn(name).flatMap((member) => textIn(item, member) ?? []))
  const suggested = [...new Set(known)].slice(0, name === 'types' ? known.length : SUGGESTIONS_MAX)
  return (
    <div>
      <label for={`f-${name}`}>{labelOf(name)}</label>
      <input
        id={`f-${name}`}
        type="text"
        name={name}
        value={value ?? ''}
        {...(suggested.length > 0 && { list: `known-${name}` })}
        maxlength={256}
        autocomplete="off"
        spellcheck={false}
      />
      {suggested.length > 0 && (
        <datalist id={`known-${name}`}>
          {suggested.map((text) => (
            <option value={visibleText(text)} />
          ))}
        </datalist>
      )}
    </div>
  )
}

function Choice({
  name,
  values,
  value,
}: {
  readonly name: string
  readonly values: readonly string[]
  readonly value: string
}) {
  return (
    <div>
      <label for={`f-${name}`}>{labelOf(name)}</label>
      <select id={`f-${name}`} name={name}>
        {values.map((each) => (
          <option value={each} selected={each === value}>
            {each === '' ? 'Any' : each}
          </option>
        ))}
      </select>
    </div>
  )
}
