// What `--json` prints, and the names that it may have. The compiler refuses an output with another name (docs/command-line.md).

import type { Terminal } from './shared/terminal.ts'
import type { JsonName } from './json-names.ts'

/** Names of a value and of what it holds. Names that are data, such as columns of a query, are not among them. */
type NamesIn<Value, Depth extends readonly unknown[] = []> = Depth['length'] extends 9
  ? never
  : Value extends (...input: never) => unknown
    ? never
    : Value extends { toJSON(): infer Printed }
      ? NamesIn<Printed, [...Depth, 0]>
      : Value extends readonly (infer Item)[]
        ? NamesIn<Item, [...Depth, 0]>
        : Value extends object
          ? {
              [Name in keyof Value & string]-?:
                | (string extends Name ? never : Name)
                | NamesIn<Value[Name], [...Depth, 0]>
            }[keyof Value & string]
          : never

type Checked<Value> = [Exclude<NamesIn<Value>, JsonName>] extends [never]
  ? unknown
  : { readonly 'names that json-names.ts does not have': Exclude<NamesIn<Value>, JsonName> }

/** Prints one line of JSON. */
export const printJson = <Value>(
  terminal: Pick<Terminal, 'out'>,
  value: Value & Checked<Value>,
): void => terminal.out(JSON.stringify(value))
