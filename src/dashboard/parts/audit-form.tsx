/** @module The filters of a question, as a form: a plain GET, so that an answer has an address. */
import { AUDIT_FILTERS } from '../../../schemas/audit-fields.ts'
import { auditPath } from '../paths.ts'

export interface AuditFormProps {
  readonly name: string
  readonly filters: readonly string[]
  readonly given: Readonly<Record<string, string>>
}

const SPEND_BY = ['run', 'agent', 'model', 'day', 'month', 'tenant']

export function AuditForm({ name, filters, given }: AuditFormProps) {
  return (
    <form method="get" action={auditPath(name)} class="filters audit-filters" aria-label="Filters">
      {name === 'spend' && <Choice name="by" values={SPEND_BY} value={given.by ?? 'run'} />}
      {given.routine !== undefined && <input type="hidden" name="routine" value={given.routine} />}
      {name === 'sample' && <Field name="seed" value={given.seed} />}
      {filters.map((name) => {
        const choices = inputOf(name)
        return typeof choices === 'object' ? (
          <Choice name={name} values={['', ...choices]} value={given[name] ?? ''} />
        ) : (
          <Field name={name} value={given[name]} />
        )
      })}
      <button type="submit" class="button">
        Ask
      </button>
    </form>
  )
}

const filterOf = (name: string) => AUDIT_FILTERS.find((filter) => filter.name === name)
const inputOf = (name: string) => filterOf(name)?.input
const labelOf = (name: string): string => filterOf(name)?.label ?? name.charAt(0).toUpperCase() + name.slice(1)

function Field({ name, value }: { readonly name: string; readonly value: string | undefined }) {
  const when = inputOf(name) === 'time'
  return (
    <div>
      <label for={`f-${name}`}>{labelOf(name)}</label>
      <input
        id={`f-${name}`}
        type={when ? 'datetime-local' : 'text'}
        name={name}
        value={(when ? value?.slice(0, 16) : value) ?? ''}
        maxlength={256}
        autocomplete="off"
        spellcheck={false}
      />
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
