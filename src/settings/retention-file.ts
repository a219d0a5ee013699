/** @module The file with the classes of retention (LIFE-53). */
import { readFileSync } from 'node:fs'
import { parseJsonOrUndefined } from '../../schemas/json.ts'
import { type RetentionClass, RetentionClasses } from '../../schemas/retention.ts'
import { reasonOf } from './reason-of.ts'
import { variableOf } from './settings.ts'
import { SettingsError } from './settings-error.ts'
import { type WatchedFile, watchFile } from './watch-file.ts'

/** Throws `SettingsError` if the file cannot be read, or its first fault if it cannot be used. */
export function readRetention(path: string): readonly RetentionClass[] {
  const refused = (why: string): SettingsError => new SettingsError(`${variableOf('retention')}: ${path}${why}`)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw refused(` cannot be read (${reasonOf(error)})`)
  }
  const read = RetentionClasses.safeParse(parseJsonOrUndefined(text))
  if (read.success) return read.data.retention
  const [issue] = read.error.issues
  const place = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `
  throw refused(`: ${place}${issue?.message ?? 'it has no classes of retention'}`)
}

/** Throws `SettingsError` if the file cannot be used now. */
export function watchRetention(
  path: string,
  log: { error(fields: object, message: string): void },
): WatchedFile<readonly RetentionClass[]> {
  return watchFile({
    path,
    value: readRetention(path),
    read: readRetention,
    onError: (error) =>
      log.error({ err: error, path }, 'the file of retention cannot be used: the classes of before count; mend it'),
  })
}
