/** @module The form of a page whose address cannot be read: everything that was typed, to be corrected and sent again. */

/** Places in a list of other filters. */
const PLACES: ReadonlySet<string> = new Set(['after', 'place', 'cursor'])
const FIELDS_MAX = 32
const VALUE_MAX_CHARS = 256

export interface TypedAgainProps {
  readonly url: URL
  /** Name of the parameter that is wrong; undefined if that is not known. */
  readonly wrong: string | undefined
}

export function TypedAgain({ url: { pathname, searchParams }, wrong }: TypedAgainProps) {
  const typed = [...searchParams].filter(([name, value]) => value !== '' && !PLACES.has(name)).slice(0, FIELDS_MAX)
  if (typed.length === 0) return null
  return (
    <form method="get" action={pathname} autocomplete="off" class="filters" aria-label="Correct it">
      {typed.map(([name, value], at) => (
        <div>
          <label for={`again-${at}`}>{name}</label>
          <input
            id={`again-${at}`}
            type="text"
            name={name}
            value={value.slice(0, VALUE_MAX_CHARS)}
            maxlength={VALUE_MAX_CHARS}
            spellcheck={false}
            {...(name === wrong && { 'aria-invalid': 'true', autofocus: true })}
          />
        </div>
      ))}
      <button type="submit" class="button">
        Try again
      </button>
    </form>
  )
}
