(* SPDX-License-Identifier: GPL-2.0-or-later *)
let says = ref false

(* The list names the body of a module after the module, its symbol is that of a function. *)
let say () =
  let print slot =
    match Printexc.Slot.name slot with
    | None | Some "Deep.say" -> ()
    | Some "Deep" -> print_endline "frame Deep.entry"
    | Some name -> print_endline ("frame " ^ name)
  in
  Array.iter print (Option.value (Printexc.backtrace_slots (Printexc.get_callstack 100)) ~default:[||]);
  print_endline "ready"

let[@inline never] work () =
  let total = ref 0 in
  if !says then say ();
  for i = 1 to 2000 do
    for j = 1 to 20 do total := (!total + (i * j)) mod 1000003 done;
    total := !total + String.length (Marshal.to_string [ i; i + 1; i + 2 ] [])
  done;
  !total

let[@inline never] rec deep n = if n = 0 then work () else 1 + deep (n - 1)

let () =
  for _ = 1 to 5 do ignore (deep 20) done;
  says := true;
  ignore (deep 20);
  says := false;
  while true do ignore (deep 20) done
