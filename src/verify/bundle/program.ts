#!/usr/bin/env node
/**
 * Checks an evidence bundle of a Countersign ledger:
 *   node verify.mjs BUNDLE.tar|FOLDER --key KEY [--checkpoint FILE] [--witness KEY]... [--quorum N] [--run-key FILE] [--json]
 *
 * Needs Node 18.3 or newer and nothing else. It only reads: no connection, no file written. What is shown, in this order:
 *   1. the archive holds plain files under known names, once each, with nothing beside them;
 *   2. the manifest was signed with the log's key (DSSE) and names the digest of every file;
 *   3. the checkpoint was signed with the same key (C2SP signed note): size and root of the log; and by the witnesses that you name;
 *   4. log.jsonl, the headers of ALL events of the log, makes that very root (RFC 6962), each header continuing its stream; or, in a bundle
 *      of one run, stream.json shows in the tree of streams that the checkpoint names how many events the run has, and their digest;
 *   5. events.jsonl holds exactly those events of the log that the query asks for, none left out, each with the body that was sealed;
 *      which those are is worked out here from the query, whatever the manifest says;
 *   6. proofs, report.html, README.txt and the rest are those that these events make;
 *   7. values.jsonl, where it was requested, holds every large value that these events name, with the digest that they name it by;
 *   8. where a run's key was disclosed to you, the macs;
 *   9. in a bundle of an answer, that each row of answer.jsonl is the one that these events make, in that order, and that they make no other;
 *  10. where a checkpoint was time-stamped (RFC 3161), that the token is for that checkpoint's text, and that this log continues it. The
 *      signature of the authority is not checked here: openssl does, with the command that is printed.
 * It cannot show that what was recorded is true, nor that all that happened was recorded. Who exported, and when, is the signer's word.
 *
 * KEY is the verifier key of the log, or a file that has it on a line of its own, such as "countersign keys pin" keeps: with a later key of
 * the log in it, the answer says whether anything shows that the bundle was signed before that one followed. Without it nobody can say who signed: the key inside
 * a bundle shows only that the bundle agrees with itself. Get the key, and this file, from another hand than the bundle.
 *
 * Exit code: 0 VERIFIED, 1 TAMPERED, 2 wrong use, 3 INCOMPLETE, UNVERIFIABLE, or CONSISTENT, NOT AUTHENTICATED (no key was given).
 */
import * as fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { parseJson } from '../../../schemas/json.ts'
import type { BundleOptions, RunKeyFile } from './options.ts'
import { reportLines } from './report-lines.ts'
import { jsonText, plain } from './shown-text.ts'
import { parseKey, successionsIn } from './verifier-keys.ts'
import { verifyBundle } from './verify-bundle.ts'

function main(args: string[]): number {
  const text = { type: 'string' } as const
  const witness = { type: 'string', multiple: true } as const
  const more = { witness, quorum: text, json: { type: 'boolean' } } as const
  const options = { key: text, checkpoint: text, 'run-key': text, ...more }
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  if (positionals.length !== 1) throw new TypeError('name one bundle')
  const read = (file: string | undefined) => (file === undefined ? undefined : fs.readFileSync(file, 'utf8'))
  const runKey = (values['run-key'] && parseJson(read(values['run-key']) as string)) as RunKeyFile | undefined
  if (!/^[1-9]\d{0,2}$/.test(values.quorum ?? '1')) throw new TypeError('--quorum takes a number from 1')
  const quorum = values.quorum === undefined ? undefined : Number(values.quorum)
  const given = { ...(values.key && keyFrom(values.key)), checkpoint: read(values.checkpoint), runKey }
  const found = verifyBundle(positionals[0] as string, { ...given, witnesses: values.witness, quorum })
  const lines = values.json ? [jsonText(found)] : reportLines(found)
  process.stdout.write(`${lines.join('\n')}\n`)
  return { VERIFIED: 0, TAMPERED: 1 }[found.verdict as string] ?? 3
}

/** A verifier key itself, or a file that has the key of the bundle's log on one of its lines, and successions as `keys pin` writes them. */
function keyFrom(given: string): Pick<BundleOptions, 'key' | 'pinned' | 'successions'> {
  if (parseKey(given) !== undefined) return { key: given }
  const lines = fs.readFileSync(given, 'utf8').split('\n')
  const keys = lines.flatMap((line) => parseKey(line) ?? [])
  if (keys.length === 0) throw new TypeError('--key takes a verifier key, or a file with one a line')
  const key = (own: string) => {
    const claimed = parseKey(own)
    const ofLog = keys.filter(({ name }) => name === claimed?.name)
    return (ofLog.find(({ id }) => id === claimed?.id) ?? ofLog.at(-1))?.text
  }
  return { key, pinned: keys.map(({ text }) => text), successions: successionsIn(lines) }
}

if (process.argv[1] !== undefined && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = main(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(
      `${plain((error as Error).message)}\nusage: node verify.mjs BUNDLE.tar|FOLDER [--key KEY|FILE] [--checkpoint FILE] [--witness KEY]... [--quorum N] [--run-key FILE] [--json]\n`,
    )
    process.exitCode = 2
  }
}
