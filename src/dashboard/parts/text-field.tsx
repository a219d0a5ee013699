/** @module A text field of a filter form, with its label and its previous value. */

export interface TextFieldProps {
  /** Name of the query parameter. */
  readonly name: string
  readonly label: string
  readonly value: string | undefined
  /** Id of the `datalist` with suggestions. */
  readonly list?: string
  /** Format of values that are not plain words. */
  readonly hint?: string
}

const TEXT_MAX_CHARS = 256

export function TextField({ name, label, value, list, hint }: TextFieldProps) {
  return (
    <div>
      <label for={`f-${name}`}>{label}</label>
      <input
        id={`f-${name}`}
        type="text"
        name={name}
        value={value ?? ''}
        {...(list !== undefined && { list })}
        {...(hint !== undefined && { title: hint })}
        maxlength={TEXT_MAX_CHARS}
        autocomplete="off"
        spellcheck={false}
      />
    </div>
  )
}
