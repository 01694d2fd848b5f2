// A register is one table for one kind of thing: name → what is true of it. The type of the names, and every list of some of them,
// derive from it, so that a new name cannot be missing anywhere.

/** The names of a register, in its order. */
export const namesOf = <Register extends object>(register: Register) =>
  Object.keys(register) as unknown as readonly (keyof Register & string)[]

/** The names whose entries have this part. */
export type NamesWith<Register, Part> = {
  readonly [Name in keyof Register]: Register[Name] extends Part ? Name : never
}[keyof Register]

/** The names whose entries have this part, in the order of the register. */
export const namesWith = <Register extends object, const Part extends object>(
  register: Register,
  part: Part,
) =>
  Object.entries(register).flatMap(([name, entry]) =>
    Object.entries(part).every(([key, value]) => entry[key] === value) ? [name] : [],
  ) as unknown as readonly NamesWith<Register, Part>[]

/** A count for each name, at zero. */
export const zeroCounts = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>
