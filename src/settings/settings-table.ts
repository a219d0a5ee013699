/** @module The table of settings for the documentation. */
import { SETTINGS, type Setting, variableOf } from './settings.ts'

/** The documentation's table of settings, in Markdown. */
export function settingsTable(): string {
  const rows = Object.entries<Setting>(SETTINGS).map(([name, { about, fallback, shownDefault }]) => {
    const shown = shownDefault ?? `\`${fallback ?? ''}\``
    return `| \`--${name}\` | \`${variableOf(name)}\` | ${shown} | ${about} |`
  })
  return ['| flag | variable | default | meaning |', '|---|---|---|---|', ...rows].join('\n')
}
