/** @module The filters of a question, as a form: a plain GET, so that an answer has an address. */
import { AUDIT_FILTERS } from '../../../schemas/audit-fields.ts'
import { typesThat } from '../../../schemas/events.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { textIn } from '../item-members.ts'
import { auditPath } from '../paths.ts'
import { visibleText } from '../visible.ts'
import { PeriodFields } from './period-fields.tsx'

export interface AuditFormProps {
  readonly name: string
  readonly filters: readonly string[]
  readonly given: Readonly<Record<string, string>>
  /** Rows of the answer: what they say is suggested. */
  readonly items: readonly JsonObject[]
}

const SPEND_BY = ['run', 'agent', 'model', 'day', 'month', 'tenant']

export function AuditForm({ name, filters, given, items }: AuditFormProps) {
  return (
    <form method="get" action={auditPath(name)} class="filters audit-filters" aria-label="Filters">
      {name === 'spend' && <Choice name="by" values={SPEND_BY} value={given.by ?? 'run'} />}
      {given.routine !== undefined && <input type="hidden" name="routine" value={given.routine} />}
      {name === 'sample' && <Field name="seed" value={given.seed} />}
      {filters
        .filter((name) => inputOf(name) !== 'time')
        .map((name) => {
          const choices = inputOf(name)
          return typeof choices === 'object' ? (
            <Choice name={name} values={['', ...choices]} value={given[name] ?? ''} />
          ) : (
            <Field name={name} value={given[name]} items={items} />
          )
        })}
      {filters.some((name) => inputOf(name) === 'time') && (
        <PeriodFields since={given.since} until={given.until} zone={given.zone} />
      )}
      <Field name="asOf" value={given.asOf} />
      <button type="submit" class="button">
        Ask
      </button>
    </form>
  )
}

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
  const said = name === 'types' ? typesThat(() => true) : items.flatMap((item) => textIn(item, name) ?? [])
  const suggested = [...new Set(said)].slice(0, name === 'types' ? said.length : SUGGESTIONS_MAX)
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
