"""profile.proto, the format of pprof, by a library that is not ours."""
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def profile_classes():
    """The messages of profile.proto, by the library of protobuf itself."""
    kinds = {"int": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
             "text": descriptor_pb2.FieldDescriptorProto.TYPE_STRING}  # fmt: skip
    messages = {
        "ValueType": ["type int", "unit int"],
        "Label": ["key int", "str int", "num int"],
        "Sample": ["location_id *int", "value *int", "label *Label"],
        "Line": ["function_id int", "line int"],
        "Location": ["id int", "mapping_id int", "address int", "line *Line"],
        "Function": ["id int", "name int", "system_name int", "filename int", "start_line int"],
        "Profile": ["sample_type *ValueType", "sample *Sample", "", "location *Location",
                    "function *Function", "string_table *text", "", "", "time_nanos int",
                    "duration_nanos int", "period_type ValueType", "period int", "comment *int",
                    "default_sample_type int"],
    }  # fmt: skip
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="p", syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for number, field in enumerate(fields, 1):
            if not field:
                continue
            field_name, kind = field.split()
            entry = message.field.add(name=field_name, number=number, label=3 if "*" in kind else 1)
            kind = kind.lstrip("*")
            if kind in kinds:
                entry.type = kinds[kind]
            else:
                entry.type, entry.type_name = entry.TYPE_MESSAGE, f".p.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.Profile"))


def one_sample(kind, unit, value):
    """A profile of one sample in a function f, line 2 of f.py."""
    profile = profile_classes()()
    profile.string_table.extend(["", kind, unit, "f", "f.py"])
    profile.sample_type.add(type=1, unit=2)
    profile.function.add(id=1, name=3, filename=4)
    profile.location.add(id=1).line.add(function_id=1, line=2)
    profile.sample.add(location_id=[1], value=[value])
    return profile
