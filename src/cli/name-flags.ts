/** @module Flags that take a name, for commands that load little else. */
import { NAME_MAX_CHARS, RUN_ID_FORM, RUN_ID_PATTERN } from '../../schemas/value-forms.ts'
import { usageFailure } from './failure.ts'

/** Names end up in signed headers, so characters that a header cannot contain are refused here. */
export function nameOf(flag: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (text !== '' && text.length <= NAME_MAX_CHARS && !/\p{Cc}/u.test(text)) return text
  throw usageFailure(`--${flag}: takes 1 to ${NAME_MAX_CHARS} characters, none of them a control character`)
}

/** The value of `--run`. */
export function runIdOf(text: string | undefined, command: string): string | undefined {
  if (text === undefined || RUN_ID_PATTERN.test(text)) return text
  throw usageFailure(`--run: ${RUN_ID_FORM}`, command)
}
